-- HOST:PORT: what apply would send, in order; secrets are masked
UPDATE mysql_users SET password='***' WHERE username='app' AND backend=1;
LOAD MYSQL USERS TO RUNTIME;
SAVE MYSQL USERS TO DISK;
