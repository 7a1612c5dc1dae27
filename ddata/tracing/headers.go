package tracing

import (
	"context"
	"sync/atomic"
)

// HeaderMax bounds a header, in bytes: 8 KiB is what the W3C asks systems to pass on of a baggage, and the
// trace context has about 600 bytes at most.
const HeaderMax = 9 << 10

// Headers makes and reads headers by a Tracer, and counts those that it gives up. Its methods may be
// called from any goroutine.
type Headers struct {
	Tracer  Tracer
	dropped atomic.Uint64
}

// Of is the header for a message that is sent under ctx; nil: it goes without one.
func (h *Headers) Of(ctx context.Context) []byte {
	header := h.Tracer.Inject(ctx, nil)
	switch {
	case len(header) == 0:
		return nil
	case len(header) > HeaderMax:
		h.dropped.Add(1)
		return nil
	}
	return header
}

// Open returns a context with what the header of a message has, and nothing else. The header may be
// nil.
func (h *Headers) Open(header []byte) context.Context {
	ctx := context.Background()
	if len(header) == 0 {
		return ctx
	}
	ctx, err := h.Tracer.Extract(ctx, header)
	if err != nil {
		h.dropped.Add(1)
	}
	return ctx
}

// Dropped is how many headers were given up: too large ones, and bytes that were no header.
func (h *Headers) Dropped() uint64 { return h.dropped.Load() }
