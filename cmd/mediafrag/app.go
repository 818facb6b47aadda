package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/formats"
)

// app is what the commands share: where they read and write, how they get a
// client, and the flags that are the same everywhere.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	terminal       bool // stderr is one: progress may be drawn there
	newClient      func() *client.Client

	flags flags
	quiet bool     // nothing but errors and warnings on stderr
	args  []string // as given, for what must not be shown of them
}

// run runs one command line and returns the exit status.
func run(ctx context.Context, args []string, a *app) int {
	a.args = args
	root := a.command()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	f := diagnose(ctx, err)
	a.report(f)
	return f.status
}

const long = `mediafrag finds which bytes of a recording hold the part that a media fragment
URI names, asks the server for only those, and writes a playable file of the
same media type. Nothing is transcoded.

Quote URIs: shells take '&', and some '#', for their own.`

// command builds the tree of commands.
func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:     "mediafrag",
		Short:   "Fetch only the part of a recording that a media fragment URI names",
		Long:    long,
		Example: "  mediafrag get 'https://host/movie.mp4#t=60,100'\n  mediafrag demo",
		Version: version(),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("%q is not a command; see 'mediafrag --help'", args[0])
			}
			return nil
		},
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%v; see '%s --help'", err, cmd.CommandPath())
	})
	a.flags.register(root.PersistentFlags())
	completeValues(root)
	root.AddCommand(a.getCommand(), a.planCommand(), a.infoCommand(), a.parseCommand(), a.benchCommand(), a.demoCommand())
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return a.flags.check(cmd.Flags()) }
	for _, cmd := range root.Commands() {
		cmd.Long = strings.TrimSpace(cmd.Long) + "\n\n" + exitHelp
	}
	return root
}

// completeValues tells the shell the values of flags that have only few.
func completeValues(root *cobra.Command) {
	for name, values := range map[string][]cobra.Completion{
		"form":     {string(formats.Standalone), string(formats.Verbatim)},
		"timeline": {string(formats.Zero), string(formats.Original)},
	} {
		if err := root.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(err) // no such flag: a mistake of this program
		}
	}
}

// version says what was built, from what the build itself recorded.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && !strings.Contains(v, s.Value[:min(12, len(s.Value))]):
			v += " " + s.Value
		case s.Key == "vcs.modified" && s.Value == "true" && !strings.Contains(v, "+dirty"):
			v += " (modified)"
		}
	}
	return v + " " + info.GoVersion
}

// oneURI is what most commands take.
func oneURI(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%s takes one URI, not %d; quote it; see '%s --help'", cmd.Name(), len(args), cmd.CommandPath())
	}
	return nil
}

// printJSON writes v as the one object on standard output.
func (a *app) printJSON(v any) error {
	encoder := json.NewEncoder(a.stdout)
	encoder.SetEscapeHTML(false) // URIs are full of '&'
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// warn writes warnings to standard error.
func (a *app) warn(warnings []string) {
	for _, w := range warnings {
		a.note("warning: %s", w)
	}
}

// note writes one line to standard error, without secrets.
func (a *app) note(format string, args ...any) {
	fmt.Fprintln(a.stderr, a.redact(oneLine(fmt.Sprintf(format, args...))))
}
