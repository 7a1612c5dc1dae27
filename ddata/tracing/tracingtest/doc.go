// Package tracingtest is a tracing.Tracer for tests: it keeps the spans that were ended.
package tracingtest
