# redis-cli HOST PORT COUNT: one process, one connection
for i in $(seq "$3"); do echo PING; done | redis-cli ${SSL_CERT_FILE:+--tls --cacert "$SSL_CERT_FILE"} -h "$1" -p "$2" 2>&1 | sed '/^$/d; /^AUTH failed/d'
