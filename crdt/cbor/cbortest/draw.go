package cbortest

import "pgregory.net/rapid"

// ListOf draws a nil list, or one of up to most elements.
func ListOf[E any](one *rapid.Generator[E], most int) *rapid.Generator[[]E] {
	return rapid.OneOf(rapid.Just([]E(nil)), rapid.SliceOfN(one, 0, most))
}

// Near hands over an encoding and then others near it, of which most are none: with another byte somewhere, cut
// off, and with a byte too many. It changes b.
func Near(t *rapid.T, b []byte, take func(b []byte)) {
	take(b)
	b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
	take(b)
	take(b[:rapid.IntRange(0, len(b)).Draw(t, "part")])
	take(append(b, 0))
}
