package shardingtest

import (
	"testing"
	"time"
)

// BenchmarkKit is what a test pays for a kit and a question.
func BenchmarkKit(b *testing.B) {
	for b.Loop() {
		k := New(b, sumType(new(int), nil))
		if _, err := Ask(k, "a", total{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAsk is a question to an entity that is there.
func BenchmarkAsk(b *testing.B) {
	k := New(b, sumType(new(int), nil))
	for b.Loop() {
		if _, err := Ask(k, "a", total{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAdvance is a day of a kit with an entity that has nothing to do.
func BenchmarkAdvance(b *testing.B) {
	typ := sumType(new(int), nil)
	typ.Passivation.Strategy.None = true
	k := New(b, typ)
	if _, err := Ask[command, int](k, "a", total{}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		k.Advance(24 * time.Hour)
	}
}
