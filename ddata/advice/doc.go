// Package advice says what an operator can do about a node that the cluster refuses.
package advice
