/* A value of JSON to the columns that its type has. */
#ifndef BARNABAS_JSON_CONVERT_H
#define BARNABAS_JSON_CONVERT_H

#include "scan.h"

/* 0 for what is unusual or wrong; what was appended then has to be taken back by `shorten`. */
int convert_value(scan *s, node *n, int depth);
int convert_object(scan *s, node *n, int depth);

/* Dates and times; `text` is what the string says. */
int days_of(text t, int32_t *days);
int micros_of(scan *s, text t, int64_t *micros);
int local_micros_of(text t, int64_t *micros);

#endif
