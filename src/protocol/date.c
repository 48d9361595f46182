#include "protocol/date.h"

#include <string.h>

/*
 * The three forms of RFC 9110 section 5.6.7, as patterns (and RFC 3339's begins with one):
 *   w  a day of the week in three letters      W  in full
 *   m  a month in three letters                n  a month in two digits
 *   y  two digits of a year                    Y  four digits
 *   d  day, two digits                         e  day, a blank may be its first digit
 *   t  HH:MM:SS                                z  GMT
 * and anything else for itself.
 * Letters are compared without case: header values come folded.
 */
static const char *const http_forms[] = {"w, d m Y t z", "W, d-m-y t z", "w m e t Y"};

static const char *const weekdays[] = {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"};
static const char *const months[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                     "jul", "aug", "sep", "oct", "nov", "dec"};

struct date {
    const char *text, *end;
    int year, month, day, hour, minute, second;
};

static char fold(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? (char)(letter | 0x20) : letter;
}

/* Takes a text of `length` letters if it is next. */
static bool take(struct date *date, const char *text, size_t length)
{
    if ((size_t)(date->end - date->text) < length) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (fold(date->text[i]) != text[i]) {
            return false;
        }
    }
    date->text += length;
    return true;
}

static bool take_number(struct date *date, int digits, int *value)
{
    *value = 0;
    for (; digits > 0; digits--, date->text++) {
        if (date->text == date->end || *date->text < '0' || *date->text > '9') {
            return false;
        }
        *value = *value * 10 + (*date->text - '0');
    }
    return true;
}

static bool take_weekday(struct date *date, bool full)
{
    for (size_t i = 0; i < sizeof weekdays / sizeof weekdays[0]; i++) {
        if (take(date, weekdays[i], full ? strlen(weekdays[i]) : 3)) {
            return true;
        }
    }
    return false;
}

static bool take_month(struct date *date)
{
    for (date->month = 1; date->month <= 12; date->month++) {
        if (take(date, months[date->month - 1], 3)) {
            return true;
        }
    }
    return false;
}

static bool take_day(struct date *date, bool blank)
{
    return blank && take(date, " ", 1) ? take_number(date, 1, &date->day) : take_number(date, 2, &date->day);
}

static bool take_time(struct date *date)
{
    return take_number(date, 2, &date->hour) && take(date, ":", 1) && take_number(date, 2, &date->minute) &&
           take(date, ":", 1) && take_number(date, 2, &date->second);
}

/* Two digits: these dates lie near now, so no clock is needed to tell the century. */
static bool take_short_year(struct date *date)
{
    if (!take_number(date, 2, &date->year)) {
        return false;
    }
    date->year += date->year < 70 ? 2000 : 1900;
    return true;
}

static bool take_form(struct date *date, const char *form)
{
    bool good = true;

    for (; good && *form != '\0'; form++) {
        switch (*form) {
        case 'w':
        case 'W':
            good = take_weekday(date, *form == 'W');
            break;
        case 'm':
            good = take_month(date);
            break;
        case 'n':
            good = take_number(date, 2, &date->month);
            break;
        case 'y':
            good = take_short_year(date);
            break;
        case 'Y':
            good = take_number(date, 4, &date->year);
            break;
        case 'd':
        case 'e':
            good = take_day(date, *form == 'e');
            break;
        case 't':
            good = take_time(date);
            break;
        case 'z':
            good = take(date, "gmt", 3);
            break;
        default:
            good = take(date, form, 1);
        }
    }
    return good;
}

static bool is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static bool in_range(const struct date *date)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (date->month < 1 || date->month > 12) {
        return false;
    }
    int last = days[date->month - 1] + (date->month == 2 && is_leap(date->year) ? 1 : 0);

    return date->year >= 1970 && date->day >= 1 && date->day <= last && date->hour < 24 && date->minute < 60 &&
           date->second <= 60;
}

/* Days since 1970-01-01 in the Gregorian calendar; years begin in March, so that the leap day is the last one. */
static int64_t days_since_epoch(int year, int month, int day)
{
    int64_t y = month > 2 ? year : year - 1;
    int64_t m = month > 2 ? month - 3 : month + 9;

    return y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1 - 719468;
}

static int64_t seconds_of(const struct date *date)
{
    return days_since_epoch(date->year, date->month, date->day) * 86400 + date->hour * 3600 + date->minute * 60 +
           date->second;
}

bool date_http(const char *text, size_t length, int64_t *seconds)
{
    for (size_t i = 0; i < sizeof http_forms / sizeof http_forms[0]; i++) {
        struct date date = {.text = text, .end = text + length};

        if (take_form(&date, http_forms[i]) && date.text == date.end && in_range(&date)) {
            *seconds = seconds_of(&date);
            return true;
        }
    }
    return false;
}

/* ".5": a fraction of a second, of as many digits as there are. None is none. */
static bool take_fraction(struct date *date, uint32_t *ms)
{
    uint32_t unit = 100;
    bool more = false;

    *ms = 0;
    if (!take(date, ".", 1)) {
        return true;
    }
    const char *begin = date->text;

    for (; date->text < date->end && *date->text >= '0' && *date->text <= '9'; date->text++, unit /= 10) {
        *ms += (uint32_t)(*date->text - '0') * unit;
        more = more || (unit == 0 && *date->text != '0');
    }
    *ms += more ? 1 : 0;
    return date->text > begin;
}

/* "Z", or how far the clock it was read from is ahead of UTC: *seconds. */
static bool take_offset(struct date *date, int *seconds)
{
    int hours, minutes;
    bool ahead = take(date, "+", 1);

    *seconds = 0;
    if (!ahead && take(date, "z", 1)) {
        return true;
    }
    if ((!ahead && !take(date, "-", 1)) || !take_number(date, 2, &hours) || !take(date, ":", 1) ||
        !take_number(date, 2, &minutes) || hours > 23 || minutes > 59) {
        return false;
    }
    *seconds = (ahead ? 1 : -1) * (hours * 3600 + minutes * 60);
    return true;
}

bool date_rfc3339(const char *text, size_t length, int64_t *seconds, uint32_t *ms)
{
    struct date date = {.text = text, .end = text + length};
    int offset;

    if (!take_form(&date, "Y-n-d") || !(take(&date, "t", 1) || take(&date, " ", 1)) || !take_time(&date) ||
        !take_fraction(&date, ms) || !take_offset(&date, &offset) || date.text != date.end || !in_range(&date)) {
        return false;
    }
    *seconds = seconds_of(&date) - offset;
    return true;
}
