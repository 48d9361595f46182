"""A database's client: queries.py KIND HOST PORT TLS. Says that it begins, connects once, does what stdin says, and tells how.

ask N: so many queries, one after the other; how many were answered, or what went wrong.
loop: a query every now and then until the next line; how many were answered.
listen N: waits until so many messages have come by themselves.
"""

import select
import sys
import psycopg2
import pymysql
import redis as redis_client


def redis(host, port, tls):

    client = redis_client.Redis(host=host, port=port, single_connection_client=True)

    def listen(count):
        channel = client.pubsub()
        channel.subscribe("news")
        while count:
            count -= channel.get_message(timeout=60)["type"] == "message"

    return client.ping, listen, client.close


def mariadb(host, port, tls):
    connection = pymysql.connect(host=host, port=port, user="root", ssl={"check_hostname": False} if tls == "require" else None)
    cursor = connection.cursor()
    return lambda: cursor.execute("SELECT 1"), None, connection.close


def postgres(host, port, tls):
    connection = psycopg2.connect(host=host, port=port, user="prebreak", dbname="postgres", sslmode=tls)
    connection.autocommit = True
    cursor = connection.cursor()

    def listen(count):
        cursor.execute("LISTEN news")
        while len(connection.notifies) < count:
            select.select([connection], [], [], 60)
            connection.poll()

    return lambda: cursor.execute("SELECT 1"), listen, connection.close


print("begins", flush=True)
ask, listen, close = globals()[sys.argv[1]](sys.argv[2], int(sys.argv[3]), sys.argv[4])
for line in iter(sys.stdin.readline, ""):
    what, *count = line.split()
    done = 0
    try:
        if what == "ask":
            while done < int(count[0]):
                ask()
                done += 1
        elif what == "loop":
            while not select.select([sys.stdin], [], [], 0.05)[0]:
                ask()
                done += 1
            sys.stdin.readline()
        else:
            listen(int(count[0]))
            done = "heard"
    except Exception as error:
        done = f"{done}, then {type(error).__name__}: {error}"
    print(" ".join(str(done).split()), flush=True)
close()
