//go:build !linux

package main

import (
	"context"
	"errors"
)

func runPause(context.Context, options) error {
	return errors.New("pause needs Linux: it waits for a stopped child")
}

func pauseChild(int, []string) error { return errors.ErrUnsupported }
