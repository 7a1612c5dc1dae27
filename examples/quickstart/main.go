package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if os.Getenv(envAddr) != "" {
		exit(runNode())
		return
	}
	plot := flag.String("plot", "", "write a plot of the demo to this `file`, as SVG")
	flag.Parse()
	exit(play(*plot))
}

// play plays the demo, and cleans up after it also when it is interrupted.
func play(plot string) error {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	d, err := newDemo(ctx)
	if err != nil {
		return err
	}
	defer d.clean()
	if d.plot = plot; plot != "" {
		d.pause = time.Second
	}
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
