# psql HOST PORT COUNT: one process, one connection
for i in $(seq "$3"); do echo 'SET x TO y;'; done |
    PGSSLMODE=$([ "$SSL_CERT_FILE" ] && echo require || echo disable) PGGSSENCMODE=disable PGCONNECT_TIMEOUT=3 psql -X -h "$1" -p "$2" -U nobody -w nobody 2>&1
