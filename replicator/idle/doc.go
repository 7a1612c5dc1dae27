// Package idle remembers when keys changed last, and tells which of them have been idle for longer
// than a rule allows.
//
// A rule names a key, or keys by a pattern. Of several that match a key the exact name counts, else
// the longest pattern. [Keys] holds the keys that some rule matches, by rule, in the order of their
// last change: so the next that expires is found at once. It knows no clock; the caller says what
// time it is.
package idle
