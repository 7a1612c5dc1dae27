// Package projectiontest has the laws of projection.Offsets, which every implementation keeps.
package projectiontest
