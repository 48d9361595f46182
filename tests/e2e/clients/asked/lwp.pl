use strict;
use LWP::UserAgent;

$| = 1;
my ($url, $kept) = ($ARGV[0], $ARGV[1] eq 'kept');
my $agent = LWP::UserAgent->new(keep_alive => $kept, timeout => 20);
while (my $line = <STDIN>) {
    chomp $line;
    my $answer = $agent->get("$url$line");
    # A failure of its own is a 500 that no server said.
    my $own = ($answer->header('Client-Warning') // '') eq 'Internal response';
    print $own ? $answer->message : $answer->code, "\n";
}
