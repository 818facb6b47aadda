package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
)

// getFlags are those of `get` alone.
type getFlags struct {
	output              string
	force, quiet, whole bool
}

func (a *app) getCommand() *cobra.Command {
	var f getFlags
	cmd := &cobra.Command{
		Use:   "get 'URI'",
		Short: "Download only the fragment, as a playable file of the same type",
		Long: `Downloads only what the URI names, as a playable file of the same media type.

Without -o the file's name is the URI's last segment with the interval, such as
movie.t60-100.mp4, in the current folder. The clip is written to a temporary
file beside it, which gets its name when it is complete: failure or interrupt
leaves nothing behind.`,
		Example: `  mediafrag get 'https://host/movie.mp4#t=60,100'
  mediafrag get 'https://host/movie.mp4' --time 01:00,01:40 -o clip.mp4
  mediafrag get 'https://host/movie.mp4#t=60,100' -o - | ffplay -
  mediafrag get 'https://host/master.m3u8#t=60,100' -o clip.m3u8`,
		Args: oneURI,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("output") && f.output == "" {
				return usagef("-o is empty; leave it out, or name a file")
			}
			a.quiet = f.quiet
			t, err := a.target(args[0])
			if err != nil {
				return err
			}
			if !formats.Selects(t.fragment) && !f.whole {
				return t.about(noFragment(t))
			}
			o, err := a.output(f.output, f.force, t)
			if err != nil {
				return err
			}
			return a.get(cmd.Context(), t, o, f.quiet)
		},
	}
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "the `FILE` to write; '-' is standard output, FOLDER/ a package where the medium is one, FILE.m3u8 a playlist that points at the origin")
	cmd.Flags().BoolVar(&f.force, "force", false, "replace a file that is there already, or a folder that holds a package and nothing else")
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "no progress bar, no line about success and none about waiting")
	cmd.Flags().BoolVar(&f.whole, "whole", false, "allow a URI without a valid fragment: fetch everything")
	return cmd
}

// noFragment says why a URI selects nothing.
func noFragment(t *target) error {
	if _, inQuery := fragment.SplitQuery(t.uri); formats.Selects(inQuery) {
		return fmt.Errorf("%w: %s stands in the query, which the server reads; write it behind a '#'", formats.ErrNoFragment, inQuery)
	}
	if w := t.fragment.Warnings; len(w) > 0 {
		return fmt.Errorf("%w: %s", formats.ErrNoFragment, w[len(w)-1])
	}
	return formats.ErrNoFragment
}

// get downloads what a target names.
func (a *app) get(ctx context.Context, t *target, o *output, quiet bool) error {
	j, err := a.open(ctx, t)
	if err != nil {
		return err
	}
	defer j.Close()
	var result clipJSON
	switch {
	case o.folder:
		result, err = a.getPackage(ctx, j, o)
	case isPlaylist(o.path) && !o.derived:
		result, err = a.getTrimmed(ctx, j, o)
	case isLive(j):
		result, err = a.getLive(ctx, j, o)
	default:
		result, err = a.getFile(ctx, j, o, quiet)
	}
	if err != nil {
		return t.about(err)
	}
	a.warn(j.warnings)
	if !quiet {
		a.note("%s  %s  %s → %s  %d requests", o.path, bytesText(*result.Output.Bytes),
			interval(result.Requested), interval(result.Presented), result.Transfer.Requests)
	}
	if a.flags.json {
		return a.printJSON(result)
	}
	return nil
}

// getFile writes a clip as one file or stream.
func (a *app) getFile(ctx context.Context, j *job, o *output, quiet bool) (clipJSON, error) {
	clip, err := a.resolve(ctx, j)
	if err != nil {
		return clipJSON{}, err
	}
	defer clip.Close()
	if err := a.suit(o, j, clip.Plan.MediaType); err != nil {
		return clipJSON{}, err
	}
	toShow, done := a.bar(clip.Size(), quiet)
	d := j.delivery(clip.Plan, toShow)
	var n int64
	if o.stream {
		n, err = a.stream(clip, o, d)
	} else {
		err = o.write(func(file *os.File) error {
			n, err = clip.Download(ctx, countedFile{file, d})
			return err
		})
	}
	done()
	j.read(clip.Damage())
	return j.clipJSON(clip.Plan, false, &o.path, n), err
}

// stream writes a clip to standard output or to what is there.
func (a *app) stream(clip *client.Clip, o *output, d *delivery) (int64, error) {
	if o.path == standardOutput {
		return clip.WriteTo(&countedStream{Writer: a.stdout, delivery: d})
	}
	file, err := os.OpenFile(o.path, os.O_WRONLY, 0)
	if err != nil {
		return 0, err
	}
	n, err := clip.WriteTo(&countedStream{Writer: file, delivery: d})
	if closing := file.Close(); err == nil {
		err = closing
	}
	return n, err
}

// getPackage writes a folder of files.
func (a *app) getPackage(ctx context.Context, j *job, o *output) (clipJSON, error) {
	packager, ok := j.resource.Media.(formats.Packager)
	if !ok {
		return clipJSON{}, fmt.Errorf("%w: %s is one file, not a package; give -o a file's name, without the slash",
			formats.ErrUnsupported, j.resource.Info().Format)
	}
	s, err := a.selection(j)
	if err != nil {
		return clipJSON{}, err
	}
	files, err := packager.Package(ctx, s)
	if err != nil {
		return clipJSON{}, err
	}
	all := &formats.Plan{}
	if len(files) > 0 {
		*all = *files[0].Plan
		all.Parts = nil
	}
	all.Needed = 0
	for _, f := range files {
		all.Parts = append(all.Parts, f.Plan.Parts...)
		all.Needed += f.Plan.Needed
		for _, w := range texts(f.Plan.Warnings) {
			if !slices.Contains(j.warnings, w) { // most are about the medium, not the file
				j.warnings = append(j.warnings, w)
			}
		}
	}
	sizes := make([]int64, len(files))
	err = o.writeFolder(func(root *os.Root) error {
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(a.flags.parallel)
		for i, f := range files {
			g.Go(func() (err error) {
				sizes[i], err = j.writeFile(ctx, root, f)
				return err
			})
		}
		return g.Wait()
	})
	var total int64
	for _, size := range sizes {
		total += size
	}
	return j.clipJSON(all, false, &o.path, total), err
}

// writeFile writes one file of a package. Its name cannot leave the folder.
func (j *job) writeFile(ctx context.Context, root *os.Root, f formats.File) (int64, error) {
	if err := root.MkdirAll(path.Dir(f.Name), 0o777); err != nil {
		return 0, err
	}
	file, err := root.OpenFile(f.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return 0, err
	}
	clip := j.resource.Deliver(ctx, f.Plan)
	defer clip.Close()
	n, err := clip.Download(ctx, countedFile{file, j.delivery(f.Plan, nil)})
	j.read(clip.Damage())
	if closing := file.Close(); err == nil {
		err = closing
	}
	return n, err
}
