# The tests of file work; to be included from the Makefile, from whose folder the paths are.
# file[!s]*.c: the agent's side of file work, files*.c, is no part of them.
FILE_SOURCES := $(wildcard src/file[!s]*.c) $(wildcard src/glob*.c)
FILE_TESTS := fileread_test filewrite_test filetree_test glob_test fileown_test
FILE_FLAGS := -std=c11 -g -Wall -Wextra -Werror
FILE_BUILD := build/test

$(FILE_BUILD)/%_test: test/%_test.c test/file_harness.h src/filework.h src/glob.h src/agent.h $(FILE_SOURCES)
	@mkdir -p $(FILE_BUILD)
	$(CC) $(FILE_FLAGS) -fsanitize=address,undefined -fno-sanitize-recover -o $@ $< $(FILE_SOURCES)

.PHONY: test-files $(FILE_TESTS)
test-files: $(FILE_TESTS)
$(FILE_TESTS): %: $(FILE_BUILD)/%
	$<
