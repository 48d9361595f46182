use strict;
use LWP::UserAgent;

my ($url, $count, $seconds) = @ARGV;
my $agent = LWP::UserAgent->new(keep_alive => 1, timeout => $seconds);
for my $i (1 .. $count) {
    my $answer = $agent->get("$url$i");
    # A failure of its own is a 500 that no server said.
    my $own = ($answer->header('Client-Warning') // '') eq 'Internal response';
    print $own ? $answer->message : $answer->code, "\n";
}
