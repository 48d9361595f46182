# wget URL FILE
wget -q -t1 -O - --post-file="$2" "$1" | sha256sum | cut -d ' ' -f 1
