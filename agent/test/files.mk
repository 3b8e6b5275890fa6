# The tests of file work; to be included from the Makefile, from whose folder the paths are.
# file[!s]*.c and glob*.c run in the child of a file operation; files*.c, the agent's side, needs the event loop.
FILE_SOURCES := $(wildcard src/files/file[!s]*.c) $(wildcard src/files/glob*.c) \
	$(wildcard src/image/tar*.c) src/image/fault.c src/base/failure.c src/wire/wire.c
FILE_TESTS := fileread_test filewrite_test filetree_test glob_test fileown_test filearchive_test
FILE_FLAGS := -std=c11 -g -Isrc -Wall -Wextra -Werror
FILE_BUILD := build/test
FILE_OBJECTS := $(FILE_SOURCES:src/%.c=$(B)/asan/%.o)
# Trees of thousands of folders, made and removed again and again, take a disk several times as long.
FILE_MEMORY := $(firstword $(wildcard /dev/shm /tmp))

$(FILE_BUILD)/%_test: test/%_test.c test/file_harness.h src/files/filework.h src/files/glob.h src/image/tar.h src/agent.h $(FILE_OBJECTS)
	@mkdir -p $(FILE_BUILD)
	$(CC) $(FILE_FLAGS) -fsanitize=address,undefined -fno-sanitize-recover -o $@ $< $(FILE_OBJECTS)

.PHONY: test-files $(FILE_TESTS)
test-files: $(FILE_TESTS)
filetree_test: export TMPDIR ?= $(FILE_MEMORY)
$(FILE_TESTS): %: $(FILE_BUILD)/%
	$<
