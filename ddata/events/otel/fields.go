package otel

import (
	"errors"
	"fmt"
	"sync"

	"go.opentelemetry.io/otel/propagation"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/tracing"
)

// With a propagator of the caller's a header is an array in CBOR of its fields: [name, value, name, value, …].

// fieldsMax bounds the fields of a header.
const fieldsMax = 16

// Why a header gives nothing.
var (
	errHeader  = errors.New("otel: no header")
	errNothing = errors.New("otel: the propagator reads nothing of the header")
)

// fields are those of one header: what the propagator reads, or writes.
type fields struct {
	names, values []string
}

var _ propagation.TextMapCarrier = (*fields)(nil)

var pool = sync.Pool{New: func() any { return new(fields) }}

// release gives the fields back to the pool, empty.
func (f *fields) release() {
	clear(f.names)
	clear(f.values)
	f.names, f.values = f.names[:0], f.values[:0]
	pool.Put(f)
}

// Get implements propagation.TextMapCarrier.
func (f *fields) Get(name string) string {
	for i, n := range f.names {
		if n == name {
			return f.values[i]
		}
	}
	return ""
}

// Set implements propagation.TextMapCarrier.
func (f *fields) Set(name, value string) {
	for i, n := range f.names {
		if n == name {
			f.values[i] = value
			return
		}
	}
	f.names, f.values = append(f.names, name), append(f.values, value)
}

// Keys implements propagation.TextMapCarrier.
func (f *fields) Keys() []string { return f.names }

// append appends the header; nothing if there are no fields, or more than one has.
func (f *fields) append(dst []byte) []byte {
	if len(f.names) == 0 || len(f.names) > fieldsMax {
		return dst
	}
	dst = cbor.AppendArray(dst, 2*len(f.names))
	for i, name := range f.names {
		dst = cbor.AppendText(cbor.AppendText(dst, name), f.values[i])
	}
	return dst
}

// read reads n names and values behind the head of their array.
func (f *fields) read(r *cbor.Reader, n int) error {
	if n%2 != 0 {
		r.Fail("%d names and values", n)
	}
	for range n / 2 {
		f.names, f.values = append(f.names, r.Text(tracing.HeaderMax)), append(f.values, r.Text(tracing.HeaderMax))
	}
	if err := r.End(); err != nil {
		return fmt.Errorf("%w: %w", errHeader, err)
	}
	return nil
}
