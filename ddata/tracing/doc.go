// Package tracing is the port to a system of traces: a node and its extensions begin spans with it,
// and hand a trace on in the messages that they send.
//
// # Nouns
//
//   - A Tracer begins spans, and turns what a context says of a trace into a header and back. Package
//     ddata/events/otel has one for OpenTelemetry, package recorder one that writes a file. A nil Tracer
//     traces nothing, and costs nothing.
//   - A Span is one piece of work. It has a beginning, an end, and perhaps an error.
//   - A header is what a message carries of its trace, and of its baggage, in bytes that only the Tracer
//     reads.
//
// # Guarantees
//
//   - A header has at most HeaderMax bytes. A Headers counts those that are larger, and messages go
//     without them.
//   - Bytes that are no header are counted, and the message begins a trace of its own.
//
// # Not guaranteed
//
//   - That a trace is whole: a node without a Tracer hands no trace on to what its handlers send, and a
//     span that is not ended is not reported.
package tracing
