package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mediafrag/mediafrag/internal/samples"
)

// demoTime is the interval that the demo cuts from each sample.
const demoTime = "5.5,10"

func (a *app) demoCommand() *cobra.Command {
	var folder string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Cut built-in samples from a loopback server; no network",
		Long: `Serves the built-in samples from a loopback port and cuts an interval from each,
as 'get' would from any server, and shows what that cost. It needs no argument
and no network. The clips are kept, so that you can play them.`,
		Example: `  mediafrag demo
  mediafrag demo -o clips`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("demo takes no argument; see '%s --help'", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.flags.time == "" {
				a.flags.time = demoTime
			}
			return a.demo(cmd.Context(), folder)
		},
	}
	cmd.Flags().StringVarP(&folder, "output", "o", "", "the `FOLDER` for the clips, made where it is missing (default: a new one for temporary files)")
	return cmd
}

// demo cuts each sample and shows what it cost.
func (a *app) demo(ctx context.Context, folder string) (err error) {
	if folder == "" {
		folder, err = os.MkdirTemp("", "mediafrag-demo-")
	} else {
		err = os.MkdirAll(folder, 0o777)
	}
	if err != nil {
		return err
	}
	address, stop, err := serve(samples.Handler())
	if err != nil {
		return err
	}
	defer stop()

	clips := []clipJSON{}
	for _, s := range samples.All() {
		c, err := a.demoClip(ctx, "http://"+address+"/"+s.Name, folder)
		if err != nil {
			return err
		}
		clips = append(clips, c)
	}
	if a.flags.json {
		return a.printJSON(map[string][]clipJSON{"clips": clips})
	}
	return a.printDemo(clips)
}

// demoClip does what `get` does.
func (a *app) demoClip(ctx context.Context, uri, folder string) (clipJSON, error) {
	t, err := a.target(uri)
	if err != nil {
		return clipJSON{}, err
	}
	o, err := a.output(filepath.Join(folder, clipName(t)), true, t)
	if err != nil {
		return clipJSON{}, err
	}
	j, err := a.open(ctx, t)
	if err != nil {
		return clipJSON{}, err
	}
	defer j.Close()
	c, err := a.getFile(ctx, j, o, true)
	return c, t.about(err)
}

// serve serves on a loopback port until stop is called.
func serve(handler http.Handler) (address string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: handler}
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Serve(listener) // ends with ErrServerClosed
	}()
	stop = func() {
		server.Close()
		<-done
	}
	return listener.Addr().String(), stop, nil
}

// printDemo writes what each clip cost, and where it is.
func (a *app) printDemo(clips []clipJSON) error {
	all := samples.All()
	fmt.Fprintf(a.stdout, "Cut with byte ranges alone, from a server on this machine:\n\n")
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for i, c := range clips {
		x := c.Transfer
		fmt.Fprintf(w, "%s\t%s\n", all[i].Name, all[i].About)
		fmt.Fprintf(w, "  asked for\t%s of %s s\n", interval(c.Requested), secondsOr(c.Duration, "?"))
		fmt.Fprintf(w, "  presented\t%s\n", interval(c.Presented))
		fmt.Fprintf(w, "  requests\t%d, in %d round trips\n", x.Requests, x.RoundTrips)
		fmt.Fprintf(w, "  fetched\t%d of the file's %d bytes\n", x.Bytes, len(all[i].Data))
		fmt.Fprintf(w, "  clip\t%s, %s\n", *c.Output.File, bytesText(*c.Output.Bytes))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprint(a.stdout, `
The first and the last 64 KiB of each are read to find out what it is. That is
much of files as small as these, and next to nothing of a recording.
`)
	return err
}
