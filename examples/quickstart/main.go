package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if os.Getenv(envAddr) != "" {
		exit(runNode())
		return
	}
	exit(play())
}

// play plays the demo, and cleans up after it also when it is interrupted.
func play() error {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	d, err := newDemo(ctx)
	if err != nil {
		return err
	}
	defer d.clean()
	err = d.run()
	if ctx.Err() != nil {
		return context.Cause(ctx) // and not what broke by it
	}
	return err
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}
