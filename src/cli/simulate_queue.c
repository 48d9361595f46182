/*
 * Events in order of time: a binary heap. Two of one moment come in the order they were entered, so that a run is the
 * same every time.
 */
#include "cli/simulate.h"

#include <stdlib.h>

void *sim_grow(void *memory, size_t count, size_t *room, size_t size)
{
    if (count < *room) {
        return memory;
    }
    *room = *room == 0 ? 1024 : *room * 2;
    void *grown = realloc(memory, *room * size);
    if (grown == NULL) {
        abort();
    }
    return grown;
}

static bool before(const struct sim_event *a, const struct sim_event *b)
{
    return a->time != b->time ? a->time < b->time : a->order < b->order;
}

void sim_queue_push(struct sim_queue *queue, struct sim_event event)
{
    queue->heap = sim_grow(queue->heap, queue->count, &queue->room, sizeof *queue->heap);
    event.order = queue->entered++;
    size_t hole = queue->count++;
    while (hole > 0) {
        size_t parent = (hole - 1) / 2;
        if (!before(&event, &queue->heap[parent])) {
            break;
        }
        queue->heap[hole] = queue->heap[parent];
        hole = parent;
    }
    queue->heap[hole] = event;
}

bool sim_queue_pop(struct sim_queue *queue, struct sim_event *event)
{
    if (queue->count == 0) {
        return false;
    }
    *event = queue->heap[0];
    const struct sim_event last = queue->heap[--queue->count];
    size_t hole = 0;
    for (size_t child = 1; child < queue->count; child = 2 * hole + 1) {
        if (child + 1 < queue->count && before(&queue->heap[child + 1], &queue->heap[child])) {
            child++;
        }
        if (!before(&queue->heap[child], &last)) {
            break;
        }
        queue->heap[hole] = queue->heap[child];
        hole = child;
    }
    queue->heap[hole] = last;
    return true;
}

void sim_queue_free(struct sim_queue *queue)
{
    free(queue->heap);
    *queue = (struct sim_queue){0};
}
