# wget URL COUNT SECONDS: one process, one connection. A failed address counts only if no other of the name's answers.
for i in $(seq "$2"); do echo "$1$i"; done |
    LC_ALL=C wget -t1 -T "$3" -S -O /dev/null -i - 2>&1 |
    awk '
        function tell() { if (what) print what; what = "" }
        /^--/ { tell() }
        /^ *HTTP\/1.1 / { what = $2 }
        /failed: |Failed writing|Read error|No data received/ { what = $0 }
        END { tell() }'
