/* Programs that read Avro into columns; barnabas/formats/arrow/avro_program.py writes them. */
#ifndef BARNABAS_AVRO_PROGRAM_H
#define BARNABAS_AVRO_PROGRAM_H

#include "../columns/columns.h"

/* As in avro_program.py. */
enum op {
    READ_NULL,
    READ_BOOLEAN,
    READ_INT,
    READ_LONG,
    READ_FLOAT,
    READ_DOUBLE,
    READ_BYTES,
    READ_FIXED,
    READ_ENUM,
    READ_ARRAY,
    READ_MAP,
    READ_UNION,
    READ_RECORD,
    READ_MEMBER,
    READ_DEFAULT,
    READ_FAIL,
    OPS,
};

typedef struct {
    uint8_t *data; /* NULL: not known to the reader */
    size_t size;
} symbol;

typedef struct {
    enum op op;
    node *column; /* NULL: the value is passed over */
    int64_t argument;
    int32_t *parts;
    int32_t part_count;
    uint8_t *data;
    size_t size;
    symbol *symbols;
    int32_t symbol_count;
} step;

typedef struct {
    step *steps;
    int32_t count;
} program;

/* As in avro_values.py. */
#define MAX_DEPTH 100
#define FREE_ITEMS 1000

typedef struct {
    const program *program;
    const uint8_t *at;
    const uint8_t *end;
    int depth;
    int64_t free_items;
    int is_out_of_memory; /* or a column is too long for its 32-bit ends */
} reading;

/* Reads one value; 0 if it is refused. What was appended then has to be taken back by `shorten`. */
int read_value(reading *r, const program *p, const uint8_t *at, const uint8_t *end);

void release_program(program *p);

#endif
