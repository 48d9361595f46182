#include "track/layer.h"

#include <errno.h>

/* A transfer within a callback of a transfer is rare, one within that unheard of. */
#define LAYERS 4

_Thread_local uint32_t layer_depth;
static _Thread_local struct layer layers[LAYERS];

/* Takes the innermost away; its hook did not return. */
static void drop(void)
{
    struct layer *layer = &layers[layer_depth - 1];
    struct call *call = layer->call;

    layer_depth--;
    *layer = (struct layer){.call = NULL};
    if (call != NULL) {
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

bool layer_enter(struct call *call, const void *frame)
{
    drop_dead((uintptr_t)frame);
    if (layer_depth == LAYERS) {
        return false;
    }
    layers[layer_depth] = (struct layer){.call = call, .frame = frame};
    layer_depth++;
    return true;
}

int layer_leave(const void *frame)
{
    /* What is further in was jumped over; its own hook would have left it. */
    while (layer_depth > 0 && (uintptr_t)layers[layer_depth - 1].frame < (uintptr_t)frame) {
        drop();
    }
    if (layer_depth == 0 || layers[layer_depth - 1].frame != frame) {
        return 0; /* it was found dead by a hook on another stack */
    }
    layer_depth--;
    int error = layers[layer_depth].error;

    layers[layer_depth] = (struct layer){.call = NULL};
    return error;
}

void layer_heard(struct layer *layer)
{
    if (layer->call != NULL) {
        call_heard(layer->call);
    }
}

void layer_failed(struct layer *layer, int error)
{
    if (error != 0 && error != EINPROGRESS) {
        layer->error = error;
    }
}
