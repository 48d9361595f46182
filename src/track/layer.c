#include "track/layer.h"

#include <errno.h>
#include <stdatomic.h>

/* A transfer within a callback of a transfer is rare, one within that unheard of. */
#define LAYERS 4

_Thread_local uint32_t layer_depth;
static _Thread_local struct layer layers[LAYERS];

/* Takes the innermost away; its hook did not return. */
static void drop(void)
{
    struct layer *layer = &layers[layer_depth - 1];
    struct call *call = layer->call;
    uint64_t admitted = layer->admitted;

    layer_depth--;
    *layer = (struct layer){.call = NULL};
    if (call != NULL && call->ticket.admitted == admitted) {
        call_neutral(call);
    }
}

/* Takes away those whose hooks cannot be running any more, if one runs at this frame. */
static void drop_dead(uintptr_t frame)
{
    while (layer_depth > 0 && frame >= (uintptr_t)layers[layer_depth - 1].frame) {
        drop();
    }
}

struct layer *layer_find(const void *frame)
{
    drop_dead((uintptr_t)frame);
    return layer_depth > 0 ? &layers[layer_depth - 1] : NULL;
}

bool layer_covers(const struct layer *layer, const void *caller)
{
    const struct real_range *library = layer->library;
    uintptr_t at = (uintptr_t)caller;

    return library == NULL || library->from == library->to || (at >= library->from && at < library->to);
}

bool layer_enter(struct call *call, const void *frame, const struct real_range *library)
{
    drop_dead((uintptr_t)frame);
    if (layer_depth == LAYERS) {
        return false;
    }
    layers[layer_depth] = (struct layer){
        .call = call,
        .admitted = call != NULL ? call->ticket.admitted : 0,
        .frame = frame,
        .library = library,
    };
    atomic_signal_fence(memory_order_release); /* a signal handler's hook finds it whole or not at all */
    layer_depth++;
    return true;
}

void layer_defer(layer_decider *decide, const void *context)
{
    layers[layer_depth - 1].decide = decide;
    layers[layer_depth - 1].context = context;
}

void layer_decided(struct layer *layer)
{
    layer->admitted = layer->call->ticket.admitted;
}

int layer_ask(struct layer *layer, const struct address *address)
{
    return layer->decide != NULL ? layer->decide(layer, address) : 0;
}

void layer_forget(const struct call *call)
{
    for (uint32_t i = 0; i < layer_depth; i++) {
        if (layers[i].call == call) {
            layers[i].call = NULL;
        }
    }
}

struct layer_news layer_leave(const void *frame)
{
    /* What is further in was jumped over; its own hook would have left it. */
    while (layer_depth > 0 && (uintptr_t)layers[layer_depth - 1].frame < (uintptr_t)frame) {
        drop();
    }
    if (layer_depth == 0 || layers[layer_depth - 1].frame != frame) {
        return (struct layer_news){.error = 0}; /* it was found dead by a hook on another stack */
    }
    layer_depth--;
    const struct layer *layer = &layers[layer_depth];
    struct layer_news news = {.error = layer->error, .heard = layer->heard};

    layers[layer_depth] = (struct layer){.call = NULL};
    return news;
}

void layer_heard(struct layer *layer)
{
    layer->heard = true;
    if (layer->call != NULL && layer->call->ticket.admitted == layer->admitted) {
        call_heard(layer->call);
    }
}

void layer_failed(struct layer *layer, int error)
{
    if (error != 0 && error != EINPROGRESS) {
        layer->error = error;
    }
}
