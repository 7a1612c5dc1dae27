// Package settings has the Config of a Replicator: each setting with its meaning, its default and
// its limits, and the check of all of them.
//
// The zero value of a field means its default. The machine takes a Config whose defaults are filled
// in, and copies what it keeps.
package settings
