// Package cbortest has what tests of encodings draw.
package cbortest
