package events

import (
	"reflect"
	"strings"
	"unicode"
)

// NewGauge makes a metric that goes up and down. Its labels have these names.
func NewGauge(name, help string, labels ...string) *Metric {
	return &Metric{Name: name, Help: help, Kind: Gauge, Labels: labels}
}

// NewCounter makes a metric that only grows. Its labels have these names.
func NewCounter(name, help string, labels ...string) *Metric {
	return &Metric{Name: name, Help: help, Labels: labels}
}

// Counters are counters for those fields of a struct of counts that only grow.
type Counters []fieldCounter

type fieldCounter struct {
	field  int
	metric *Metric
}

// CountersOf makes a counter for each field of S that is a uint64. Its name is prefix, the name of the
// field in the manner of Prometheus, and "_total".
func CountersOf[S any](prefix string, labels ...string) (all Counters) {
	t := reflect.TypeFor[S]()
	for i := range t.NumField() {
		if f := t.Field(i); f.Type.Kind() == reflect.Uint64 {
			all = append(all, fieldCounter{
				i, NewCounter(prefix+snake(f.Name)+"_total", "See "+t.String()+"."+f.Name+".", labels...),
			})
		}
	}
	return all
}

// snake is the name of a field in the manner of Prometheus.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Report tells of all counters; stats is the struct of counts that CountersOf was given.
func (cs Counters) Report(report func(*Metric, float64, ...string), stats any, labels ...string) {
	v := reflect.ValueOf(stats)
	for _, c := range cs {
		report(c.metric, float64(v.Field(c.field).Uint()), labels...)
	}
}
