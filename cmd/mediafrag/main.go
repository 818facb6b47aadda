// Command mediafrag fetches only the part of a recording that a media fragment
// URI names: mediafrag get 'https://host/movie.mp4#t=60,100'.
//
// It is the SDK with a face. Each sub-command has a file of its own: it reads
// its flags, calls the SDK, writes what came of it, and returns an error.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/mediafrag/mediafrag/client"
)

// grace is how long an interrupted command may take to clean up. Only one that
// waits for its standard input or output takes longer, and would for ever.
const grace = 3 * time.Second

func main() {
	log.SetOutput(io.Discard) // net/http complains there of what servers do; errors say what matters
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup wants it ignored
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, func() {
		stop() // a second signal does not wait
		time.Sleep(grace)
		os.Exit(exitInterrupted)
	})
	os.Exit(run(ctx, os.Args[1:], &app{
		stdin:     os.Stdin,
		stdout:    os.Stdout,
		stderr:    os.Stderr,
		terminal:  term.IsTerminal(int(os.Stderr.Fd())),
		newClient: func() *client.Client { return &client.Client{} },
	}))
}
