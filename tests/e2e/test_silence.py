"""A provider that says nothing for a while, or for ever."""

import threading
import time

import pytest

from harness import CALL, CALLERS, Tally, wait_for

PROCESSES = 12


class Crowd:
    """Processes that call without pause or time-out, and when each call of theirs ended how."""

    def __init__(self, guest, provider, count, apart=0.0):
        self.ends = []
        self.children = []
        for _ in range(count):
            self.children.append(guest.start(CALL, "--calls", 0, "--pause", 100, "acme.test", provider.port))
            time.sleep(apart)
        self.readers = [threading.Thread(target=self.read, args=(child,), daemon=True) for child in self.children]
        for reader in self.readers:
            reader.start()

    def read(self, child):
        for line in child.stdout:
            self.ends.append((time.monotonic(), line.strip()))

    def stop(self):
        for child in self.children:
            child.kill()
        for reader in self.readers:
            reader.join()


# All at once, every look at the overdue comes with an answer; one after the other, somebody looks in between.
@pytest.mark.parametrize("apart", [0.0, 0.25])
def test_provider_slower_than_hang_is_refused_once_for_a_few_seconds_and_never_again(guest, provider, apart):
    guest.settings["PREBREAK_PROVIDERS"] = "acme acme.test hang=2s"
    guest.names = {"acme.test": ["127.0.0.1"]}
    # Given a healthy provider that takes 3 s to its first byte, known to answer
    CALLERS["curl"](guest, "acme.test", provider.port).call()
    provider.set(latency=3000)

    # When twelve processes call it for long
    crowd = Crowd(guest, provider, PROCESSES, apart)
    time.sleep(22)
    crowd.stop()

    refused = [moment for moment, how in crowd.ends if how == "connect ECONNREFUSED"]
    assert {how for _, how in crowd.ends} <= {"200", "connect ECONNREFUSED"}
    if not guest.preloaded:
        assert not refused
        return
    # Then they were refused for a few seconds at the most, once
    if refused:
        assert refused[-1] - refused[0] < 6
        assert refused[-1] < crowd.ends[-1][0] - 10, "still refused at the end"
    assert guest.status("acme")["phase"] == "closed"


def test_provider_that_hangs_is_open_after_hang_and_back_after_recovery(guest, provider):
    guest.settings["PREBREAK_PROVIDERS"] = "acme acme.test hang=2s"
    guest.names = {"acme.test": ["127.0.0.1"]}
    tally = Tally(CALLERS["blocking"](guest, "acme.test", provider.port))
    tally.calls(20)

    # Given clients without a time-out, and a provider that hangs
    provider.set(action="hang")
    crowd = Crowd(guest, provider, PROCESSES)
    if not guest.preloaded:
        wait_for(lambda: provider.report()["requests"] == 20 + PROCESSES)
        time.sleep(5)
        assert not crowd.ends
        crowd.stop()
        return

    # Somebody has to call for anybody to look: later callers come twice a second
    def later():
        return guest.start("timeout", "20", CALL, "acme.test", provider.port)

    late = []

    def opened():
        late.append(later())
        time.sleep(0.3)
        return guest.phase("acme") == "open"

    wait_for(opened, limit=12)
    assert guest.status("acme")["failures"]["hang"] >= 10

    # Then later callers are refused at once, but for a probe now and then that nobody waits for
    crowd_of_late = []
    for _ in range(40):
        crowd_of_late.append(later())
        time.sleep(0.05)
    wait_for(lambda: sum(child.poll() is not None for child in crowd_of_late) >= 30, limit=10)
    ends = [child.stdout.read() for child in crowd_of_late if child.poll() is not None]
    assert set(ends) == {"connect ECONNREFUSED\n"}

    # And when it recovers, callers are back
    provider.sever()
    provider.set()
    assert tally.until_back(limit=15) < 10
    crowd.stop()
