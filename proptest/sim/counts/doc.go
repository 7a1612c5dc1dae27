// Package counts sums what simulated worlds really did.
package counts
