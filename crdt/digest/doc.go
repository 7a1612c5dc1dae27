// Package digest sums up hashes, so that two sets can be compared by one number: a [Digest].
package digest
