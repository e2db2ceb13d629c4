-- HOST:PORT: what apply would send, in order; secrets are masked
SAVE MYSQL SERVERS TO DISK;
SAVE MYSQL QUERY RULES TO DISK;
