package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// standardOutput is what -o takes for it.
const standardOutput = "-"

// output is where a clip goes: a file, a folder for a package, a device, or
// standard output.
type output struct {
	path    string      // as people gave it, or derived
	derived bool        // nobody gave it
	folder  bool        // a package
	stream  bool        // bytes are written in order, to what is there already
	force   bool        // replace what is there
	source  os.FileInfo // the file that is read; nil where it is none
}

// output decides where a clip goes, and whether it may, before any request.
func (a *app) output(path string, force bool, t *target) (*output, error) {
	o := &output{path: path, force: force}
	if source, err := os.Stat(t.resource); err == nil {
		o.source = source
	}
	switch {
	case path == standardOutput:
		if a.flags.json {
			return nil, usagef("-o - and --json both want standard output; give a file to one of them")
		}
		o.stream = true
		return o, nil
	case path == "":
		o.path, o.derived = clipName(t), true
	case strings.HasSuffix(path, "/"), strings.HasSuffix(path, string(filepath.Separator)):
		o.folder = true
	}
	return o, o.check()
}

// check finds out whether the place is there and free.
func (o *output) check() error {
	parent := filepath.Dir(filepath.Clean(o.path))
	if info, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no place for the clip: there is no folder %s; make it first, or name another with -o", parent)
	} else if err != nil {
		return fmt.Errorf("no place for the clip: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("no place for the clip: %s is not a folder", parent)
	}
	info, err := os.Stat(o.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("no place for the clip: %w", err)
	case o.folder && info.IsDir() && isEmpty(o.path):
		return nil
	case o.folder != info.IsDir() && o.folder:
		return usagef("-o %s: a file of that name is there; leave out the slash, or give another", o.path)
	case o.folder != info.IsDir():
		return usagef("-o %s is a folder: write %s/ for a package, or name a file in it", o.path, o.path)
	case !o.folder && !info.Mode().IsRegular():
		o.stream = true // a device or a pipe is written to, never replaced
		return nil
	case o.source != nil && os.SameFile(o.source, info):
		return usagef("-o %s is the file that is read; name another", o.path)
	case !o.force:
		return &existsError{o.path}
	case o.folder && !isPackage(o.path):
		return usagef("-o %s has files that belong to no package, which were kept; name another folder, or empty it first", o.path)
	}
	return nil
}

func isEmpty(folder string) bool {
	entries, err := os.ReadDir(folder)
	return err == nil && len(entries) == 0
}

// isPackage reports whether a folder holds a package and nothing else: a playlist,
// and files that it, or a playlist below, names.
func isPackage(folder string) bool {
	var names []string
	var text []byte
	playlists := 0 // in the folder itself
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir():
			return err
		case !strings.HasSuffix(name, ".m3u8"):
			names = append(names, d.Name())
			return nil
		case !strings.Contains(name, "/"):
			playlists++
		default:
			names = append(names, d.Name())
		}
		playlist, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
		text = append(text, playlist...)
		return err
	})
	return err == nil && playlists > 0 &&
		!slices.ContainsFunc(names, func(name string) bool { return !bytes.Contains(text, []byte(name)) })
}

// existsError is that the place is taken.
type existsError struct{ path string }

func (e *existsError) Error() string {
	return e.path + " is there already and was kept; --force replaces it, -o names another"
}

// place returns the path that is replaced: that of the file itself where the
// output is a link to one.
func (o *output) place() string {
	path := filepath.Clean(o.path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// temporary returns a name beside the target that nothing has.
func (o *output) temporary() string {
	dir, name := filepath.Split(o.place())
	return filepath.Join(dir, "."+cut(name, maxName)+"."+rand.Text()[:10]+".part")
}

// write has fill write a file, and puts it in its place when it is complete.
// Whatever happens otherwise, nothing is left behind.
func (o *output) write(fill func(*os.File) error) (err error) {
	temporary := o.temporary()
	file, err := os.OpenFile(temporary, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(temporary)
		}
	}()
	err = fill(file)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	if err = o.check(); err != nil { // it may have come meanwhile
		return err
	}
	return os.Rename(temporary, o.place())
}

// writeFolder is write for a folder of files.
func (o *output) writeFolder(fill func(*os.Root) error) (err error) {
	temporary := o.temporary()
	if err := os.Mkdir(temporary, 0o777); err != nil {
		return err
	}
	defer os.RemoveAll(temporary) // nothing is there any more once it is in its place
	root, err := os.OpenRoot(temporary)
	if err != nil {
		return err
	}
	err = fill(root)
	if closing := root.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	return replaceFolder(temporary, o.place(), o.temporary())
}

// replaceFolder puts a folder in the place of another, which is moved aside and
// then removed; a failure puts it back.
func replaceFolder(from, to, aside string) error {
	err := os.Rename(to, aside)
	replaces := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		if replaces {
			os.Rename(aside, to)
		}
		return err
	}
	if replaces {
		return os.RemoveAll(aside)
	}
	return nil
}
