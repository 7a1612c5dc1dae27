package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// answersFile is the file on which a pod says how a program ended.
const answersFile = 3

// container runs programs beside that of a pod, where the kubelet that a test plays cannot: in the network of the
// pod. The kubelet writes an order to the standard input of the pod, and reads the answer.
type container struct {
	orders  io.WriteCloser
	answers *os.File
}

// contain readies a pod that is not started yet. The caller calls started when it is.
func contain(cmd *exec.Cmd) (c container, started func() error, err error) {
	if c.orders, err = cmd.StdinPipe(); err != nil {
		return c, nil, err
	}
	answers, theirs, err := os.Pipe()
	if err != nil {
		return c, nil, err
	}
	c.answers = answers
	cmd.ExtraFiles = append(cmd.ExtraFiles, theirs)
	return c, theirs.Close, nil
}

// run runs a command in the container, and returns how it ended. The first word must be the program of the image.
func (c container) run(ctx context.Context, command []string) error {
	if len(command) == 0 || command[0] != program {
		return fmt.Errorf("%q: the image has only %s", command, program)
	}
	done := make(chan error, 1)
	go func() { // it ends with the pod
		if err := json.NewEncoder(c.orders).Encode(command[1:]); err != nil {
			done <- err
			return
		}
		var said string
		err := json.NewDecoder(c.answers).Decode(&said)
		if err == nil && said != "" {
			err = errors.New(said)
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// carryOut is the pod's side.
func carryOut(orders io.Reader, answers io.Writer) {
	for lines := bufio.NewScanner(orders); lines.Scan(); {
		said := ""
		if err := carryOutOne(lines.Bytes()); err != nil {
			said = err.Error()
		}
		if err := json.NewEncoder(answers).Encode(said); err != nil {
			return
		}
	}
}

func carryOutOne(order []byte) error {
	var args []string
	if err := json.Unmarshal(order, &args); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if out, err := exec.Command(self, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
