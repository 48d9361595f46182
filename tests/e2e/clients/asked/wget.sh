# wget URL: one process, one connection, for each line
while read -r line; do
    LC_ALL=C wget -t1 -T 20 -S -O /dev/null "$1$line" 2>&1 |
        awk '
            /^ *HTTP\/1.1 / { what = $2 }
            /failed: |Read error|Failed writing|No data received|Unable to establish/ { what = $0 }
            END { print what }'
done
