/* A breaker's settings as text, so that two breakers of one name can be told apart. */
#include "report/report.h"
#include "rules/rules.h"
#include <stdio.h>
#include <string.h>

/* Read where calls are looked at, not where they are decided on: a region does not hold them. */
static const char *const not_in_region[] = {"api",  "scope",   "enforce", "slow",     "slow_enforce",
                                            "fail", "neutral", "429",     "pause_by", "errno"};

static bool in_region(const char *setting)
{
    size_t length = strcspn(setting, "=");
    for (size_t i = 0; i < sizeof(not_in_region) / sizeof(not_in_region[0]); i++) {
        if (strlen(not_in_region[i]) == length && strncmp(setting, not_in_region[i], length) == 0) {
            return false;
        }
    }
    return true;
}

char *report_settings(const struct prebreak_settings *settings, char *buffer, size_t size)
{
    struct rules_settings all = {.breaker = *settings};
    char text[2048];
    char *rest = text;
    size_t length = 0;
    buffer[0] = '\0';
    if (rules_print_settings(&all, text, sizeof(text)) >= sizeof(text)) {
        return buffer;
    }
    for (char *setting = strsep(&rest, " "); setting != NULL; setting = strsep(&rest, " ")) {
        size_t needed = strlen(setting) + 1;
        if (needed > 1 && in_region(setting) && length + needed < size) {
            length += (size_t)snprintf(buffer + length, size - length, "%s%s", length > 0 ? " " : "", setting);
        }
    }
    return buffer;
}
