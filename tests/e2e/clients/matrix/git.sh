# git URL COUNT SECONDS: a process each, since git asks a server that holds no repository but once
for i in $(seq "$2"); do
    git -c http.lowSpeedLimit=1 -c http.lowSpeedTime="${3%.*}" ls-remote "$1$i" 2>&1 |
        sed -n 's/.*not valid: is this a git repository.*/200/p; s/.*returned error: \([0-9]*\)$/\1/p; s/^fatal: unable to access.*: //p'
done
