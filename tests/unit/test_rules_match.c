/* Which rule takes which target, and what its provider is called. */
#include "suite.h"
#include "rules_support.h"

static void check_host(const char *rules, const char *host, uint16_t port, const char *name)
{
    struct rules_match match = match_host(parse_clean(rules), host, port);
    const char *found = match.rule < 0 ? "(none)" : match.never ? "-" : match.name;
    ck_assert_msg(strcmp(found, name) == 0, "'%s' on %s:%u is %s, expected %s", rules, host, port, found, name);
}

static const struct {
    const char *rules, *host;
    uint16_t port;
    const char *name; /* "(none)" no rule, "-" never */
} hosts[] = {
    {"o api.openai.com", "api.openai.com", 443, "o"},
    {"o API.OpenAI.com.", "api.openai.com", 443, "o"},
    {"o api.openai.com", "api.openai.co", 443, "(none)"},
    {"o api.openai.com", "xapi.openai.com", 443, "(none)"},
    {"o api.openai.com:443", "api.openai.com", 443, "o"},
    {"o api.openai.com:443", "api.openai.com", 80, "(none)"},
    {"o api.openai.com:443", "api.openai.com", 0, "(none)"},
    {"o *.openai.com", "api.openai.com", 443, "o"},
    {"o *.openai.com", "a.b.openai.com", 443, "o"},
    {"o *.openai.com", "openai.com", 443, "(none)"},
    {"o *.openai.com", "xopenai.com", 443, "(none)"},
    {"o *.OpenAI.com:8080", "api.openai.com", 8080, "o"},
    {"o *.com", "com", 443, "(none)"},
    {"o *", "anything", 1, "o"},
    {"o *:5432", "db", 5432, "o"},
    {"o *:5432", "db", 5433, "(none)"},
    {"a x; b x", "x", 443, "a"},
    {"a x:1; b x", "x", 2, "b"},
    {"- x; * *", "x", 443, "-"},
    {"- x; * *", "y", 443, "y"},
    {"a x\nb y", "y", 443, "b"},
    {";; ;a x;;", "x", 443, "a"},
    {"a x y z", "z", 443, "a"},
    {"a x # y", "y", 443, "(none)"},
    {"a x # y\n b y", "y", 443, "b"},
    {"# a x\nb x", "x", 443, "b"},
    {"min min.", "min", 443, "min"},
    {"* *", "api.openai.com", 443, "api.openai.com"},
    {"* *", "api.openai.com", 80, "api.openai.com"},
    {"* *", "api.openai.com", 8080, "api.openai.com:8080"},
    {"* *", "api.openai.com", 0, "api.openai.com"},
    {"o *.openai.com scope=host", "api.openai.com", 443, "o@api.openai.com"},
    {"o *.openai.com scope=host", "api.openai.com", 8443, "o@api.openai.com:8443"},
    {"o *.openai.com scope=provider", "api.openai.com", 443, "o"},
};

START_TEST(hosts_find_their_rule_and_name)
{
    check_host(hosts[_i].rules, hosts[_i].host, hosts[_i].port, hosts[_i].name);
}
END_TEST

static const struct {
    const char *rules, *address;
    uint16_t port;
    const char *name;
} addresses[] = {
    {"d 10.1.2.3", "10.1.2.3", 80, "d"},
    {"d 10.1.2.3", "10.1.2.4", 80, "(none)"},
    {"d 10.1.2.3", "::ffff:10.1.2.3", 80, "d"},
    {"d [::ffff:10.1.2.3]", "10.1.2.3", 80, "d"},
    {"d 10.1.2.3:8080", "10.1.2.3", 8080, "d"},
    {"d 10.1.2.3:8080", "10.1.2.3", 80, "(none)"},
    {"d 10.0.0.0/8", "10.255.0.1", 80, "d"},
    {"d 10.0.0.0/8", "11.0.0.1", 80, "(none)"},
    {"d 10.9.9.9/8", "10.255.0.1", 80, "d"},
    {"d 10.1.0.0/16:5432", "10.1.9.9", 5432, "d"},
    {"d 10.1.0.0/16:5432", "10.1.9.9", 5433, "(none)"},
    {"d 10.1.2.128/25", "10.1.2.200", 80, "d"},
    {"d 10.1.2.128/25", "10.1.2.100", 80, "(none)"},
    {"d 10.1.2.4/31", "10.1.2.5", 80, "d"},
    {"d 10.1.2.4/31", "10.1.2.6", 80, "(none)"},
    {"d 0.0.0.0/0", "8.8.8.8", 80, "d"},
    {"d 0.0.0.0/0", "2001:db8::1", 80, "(none)"},
    {"d [::1]", "::1", 80, "d"},
    {"d [::1]:443", "::1", 443, "d"},
    {"d [::1]:443", "::1", 80, "(none)"},
    {"d [fd00::/8]", "fdff::1", 80, "d"},
    {"d [fd00::/8]:443", "fdff::1", 443, "d"},
    {"d [fd00::/8]", "fe80::1", 80, "(none)"},
    {"d [2001:db8::/33]", "2001:db8:7fff::1", 80, "d"},
    {"d [2001:db8::/33]", "2001:db8:8000::1", 80, "(none)"},
    {"d [::/0]", "2001:db8::1", 80, "d"},
    {"d [::/0]", "10.1.2.3", 80, "(none)"},
    {"d [::ffff:10.0.0.0/104]", "10.3.3.3", 80, "d"},
    {"d *", "10.1.2.3", 80, "d"},
    {"d host", "10.1.2.3", 80, "(none)"},
    {"* *", "10.1.2.3", 80, "10.1.2.3"},
    {"* *", "10.1.2.3", 5432, "10.1.2.3:5432"},
    {"* *", "2001:db8::1", 443, "[2001:db8::1]"},
    {"* *", "2001:db8::1", 5432, "[2001:db8::1]:5432"},
    {"d 10.0.0.0/8 scope=host", "10.1.2.3", 5432, "d@10.1.2.3:5432"},
};

START_TEST(addresses_find_their_rule_and_name)
{
    struct rules_match match =
        match_address(parse_clean(addresses[_i].rules), NULL, addresses[_i].address, addresses[_i].port);
    const char *found = match.rule < 0 ? "(none)" : match.never ? "-" : match.name;
    ck_assert_msg(strcmp(found, addresses[_i].name) == 0, "'%s' on %s is %s, expected %s", addresses[_i].rules,
                  addresses[_i].address, found, addresses[_i].name);
}
END_TEST

START_TEST(an_earlier_address_rule_goes_before_a_later_host_rule)
{
    const struct rules *rules = parse_clean("- 10.0.0.0/8; a api.example.com");
    ck_assert(match_address(rules, "api.example.com", "10.1.1.1", 443).never);
    ck_assert_str_eq(match_address(rules, "api.example.com", "11.1.1.1", 443).name, "a");
}
END_TEST

START_TEST(an_earlier_host_rule_goes_before_a_later_address_rule)
{
    const struct rules *rules = parse_clean("a api.example.com; - 10.0.0.0/8");
    ck_assert_str_eq(match_address(rules, "api.example.com", "10.1.1.1", 443).name, "a");
}
END_TEST

START_TEST(a_name_alone_is_undecided_where_an_earlier_rule_goes_by_addresses)
{
    const struct rules *rules = parse_clean("a first; - 10.0.0.0/8:443; * *");
    ck_assert(!match_host(rules, "first", 443).undecided);
    ck_assert(match_host(rules, "second", 443).undecided);
    ck_assert(match_host(rules, "second", 0).undecided);
    ck_assert(!match_host(rules, "second", 80).undecided);
    ck_assert(!match_address(rules, "second", "11.1.1.1", 443).undecided);
    ck_assert(!match_host(rules, "10.1.1.1", 443).undecided);
}
END_TEST

START_TEST(a_host_in_figures_is_an_address)
{
    const struct rules *rules = parse_clean("d 10.0.0.0/8; e [fd00::/8]; * *");
    ck_assert_str_eq(match_host(rules, "10.1.1.1", 443).name, "d");
    ck_assert_str_eq(match_host(rules, "[fd00::1]", 443).name, "e");
    ck_assert_str_eq(match_host(rules, "fd00::1", 443).name, "e");
    ck_assert_str_eq(match_host(rules, "11.1.1.1", 8080).name, "11.1.1.1:8080");
    ck_assert_str_eq(match_host(rules, "[::0:1]", 443).name, "[::1]");
}
END_TEST

START_TEST(unix_paths_are_touched_only_by_their_own_pattern)
{
    const struct rules *rules = parse_clean("- *; * *; db unix:/run/db.sock; u unix:/Run/=x.sock scope=host");
    struct rules_target target = {.unix_path = "/run/db.sock"};
    struct rules_match match;
    ck_assert(rules_has_unix(rules));
    ck_assert(rules_match(rules, &target, &match));
    ck_assert_str_eq(match.name, "db");
    target.unix_path = "/run/db.sock2";
    ck_assert(!rules_match(rules, &target, &match));
    ck_assert_int_eq(match.rule, -1);
    target.unix_path = "/Run/=x.sock";
    ck_assert(rules_match(rules, &target, &match));
    ck_assert_str_eq(match.name, "u@unix:/Run/=x.sock");
    ck_assert(!rules_has_unix(parse_clean("* *")));
}
END_TEST

START_TEST(only_hosts_named_after_themselves_are_nameless)
{
    const struct rules *rules = parse_clean("a x; b y scope=host; * *");
    ck_assert(!match_host(rules, "x", 443).nameless);
    ck_assert(match_host(rules, "y", 443).nameless);
    ck_assert(match_host(rules, "z", 443).nameless);
}
END_TEST

START_TEST(a_match_tells_rule_and_pattern_as_written)
{
    const struct rules *rules = parse_clean("a x;  b  Y.example:443   *.Z.example  success=0.5 ");
    struct rules_match match = match_host(rules, "q.z.example", 443);
    char text[128];
    uint32_t number;
    ck_assert_int_eq(match.rule, 1);
    ck_assert_str_eq(match.pattern, "*.z.example");
    ck_assert_int_eq(rules_where(rules, 1, &number), RULES_PROVIDERS);
    ck_assert_uint_eq(number, 2);
    ck_assert_uint_eq(rules_print(rules, 1, text, sizeof text), strlen(text));
    ck_assert_str_eq(text, "b y.example:443 *.z.example success=0.5");
    ck_assert_uint_eq(rules_print(rules, 1, text, 4), strlen("b y.example:443 *.z.example success=0.5"));
    ck_assert_str_eq(text, "b y");
}
END_TEST

START_TEST(a_host_too_long_for_a_name_of_its_own_goes_by_the_rule)
{
    char rule[80] = "";
    char host[254];
    memset(rule, 'n', 64);
    strcpy(rule + 64, " * scope=host");
    memset(host, 'h', 253);
    host[253] = '\0';
    struct rules_match match = match_host(parse_clean(rule), host, 443);
    ck_assert_uint_eq(strlen(match.name), 64 + 1 + 253);
    match = match_host(parse_clean(rule), host, 65535);
    ck_assert_uint_eq(strlen(match.name), 64);
    ck_assert(!match.nameless);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rules: matching");
    TCase *tests = tcase_create("matching");
    tcase_add_loop_test(tests, hosts_find_their_rule_and_name, 0, sizeof hosts / sizeof *hosts);
    tcase_add_loop_test(tests, addresses_find_their_rule_and_name, 0, sizeof addresses / sizeof *addresses);
    tcase_add_test(tests, an_earlier_address_rule_goes_before_a_later_host_rule);
    tcase_add_test(tests, an_earlier_host_rule_goes_before_a_later_address_rule);
    tcase_add_test(tests, a_name_alone_is_undecided_where_an_earlier_rule_goes_by_addresses);
    tcase_add_test(tests, a_host_in_figures_is_an_address);
    tcase_add_test(tests, unix_paths_are_touched_only_by_their_own_pattern);
    tcase_add_test(tests, only_hosts_named_after_themselves_are_nameless);
    tcase_add_test(tests, a_match_tells_rule_and_pattern_as_written);
    tcase_add_test(tests, a_host_too_long_for_a_name_of_its_own_goes_by_the_rule);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
