"""The commands around stats_mysql_query_digest."""
