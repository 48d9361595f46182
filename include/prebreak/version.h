/*
 * The version of prebreak, once for the library, the command and the JSON.
 */
#ifndef PREBREAK_VERSION_H
#define PREBREAK_VERSION_H

#define PREBREAK_VERSION "0.1.0"

#endif
