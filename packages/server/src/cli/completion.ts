import type { CommandRow, OptionRow } from "./command.ts";
import { commandRows, commands, type CompletedShell } from "./commands.ts";

/** A script that makes a shell complete the command lines of `cofre`, from the table of commands. */
export function completionScript(shell: CompletedShell): string {
  return { bash: bashScript, zsh: zshScript, fish: fishScript }[shell]();
}

/** What completes a value: words, files, folders, names of worlds; undefined: nothing. */
type Completed = readonly string[] | "files" | "folders" | "worlds" | undefined;

function completedBy({ form, values }: OptionRow): Completed {
  return values ?? byForm(form);
}

function byForm(form: string | undefined): Completed {
  if (form === "FILE" || form === "PATH...") return "files";
  return form === "D" || form === "DIR" || form === "FOLDER" ? "folders" : undefined;
}

/** The first argument of a command. */
function wordsOf(row: CommandRow): Completed {
  if (row.mayName !== undefined) return commandRows.map(([name]) => name);
  if (row.paths?.startsWith("[timeline]") === true) return ["timeline"];
  return row.words ?? byForm(row.paths);
}

/** Options with a value, in all commands; equal names have equal kinds of values. */
function optionsWithValue(): readonly (readonly [flag: string, Completed])[] {
  const found = new Map<string, Completed>();
  for (const [, { options }] of commandRows)
    for (const [flag, option] of Object.entries(options))
      if (option.form !== undefined && found.get(flag) === undefined)
        found.set(flag, completedBy(option));
  return [...found];
}

/** Prints the names of worlds, one per line; nothing when no Cofre runs. */
const worldNames = String.raw`cofre world list --json 2>/dev/null | sed -n 's/.*"name":"\([^"\\]*\)".*/\1/p'`;

function bashScript(): string {
  const words = (list: readonly string[]): string =>
    `COMPREPLY=($(compgen -W '${list.join(" ")}' -- "$current"))`;
  const completing = (by: Completed): string => {
    if (by === undefined) return ":";
    if (by === "files") return "_cofre_files -f";
    if (by === "folders") return "_cofre_files -d";
    if (by === "worlds")
      return `local IFS=$'\\n'; COMPREPLY=($(compgen -W "$(${worldNames})" -- "$current")); COMPREPLY=("\${COMPREPLY[@]// /\\\\ }")`;
    return words(by);
  };
  const valued = optionsWithValue();
  const byWord = commandRows.map(([name, row]) => {
    const inner = Object.entries(row.valuesBehind ?? {}).map(
      ([word, values]) => `    ${name}/${word}) ${words(values)} ;;`,
    );
    const first = row.program === undefined ? completing(wordsOf(row)) : "_cofre_files -c";
    return [`    ${name}/) ${first} ;;`, ...inner].join("\n");
  });
  const options = commandRows.map(
    ([name, row]) => `      ${name}) ${words([...Object.keys(row.options), "--help"])} ;;`,
  );
  const programs = commandRows.flatMap(([name, { program }]) =>
    program === undefined ? [] : [name],
  );
  return `# Completion of cofre in bash.
_cofre_files() {
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen "$1" -- "$current"))
}

_cofre() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]}
  local command= word= index
  COMPREPLY=()
  # "--shell=fish" is three words.
  if [ "$current" = = ]; then current=; elif [ "$previous" = = ]; then previous=\${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((index = 1; index < COMP_CWORD; index += 1)); do
    case \${COMP_WORDS[index]} in
      ${valued.map(([flag]) => flag).join("|")}) index=$((index + 1)) ;;
      -* | =) ;;
      *) if [ -z "$command" ]; then command=\${COMP_WORDS[index]}; elif [ -z "$word" ]; then word=\${COMP_WORDS[index]}; fi ;;
    esac
    case $command in ${programs.join("|")})
      # The rest is another program's command line.
      if [ -n "$word" ]; then _cofre_files -f; return; fi
      if [ "\${COMP_WORDS[index]}" = -- ]; then
        if ((index + 1 == COMP_CWORD)); then _cofre_files -c; else _cofre_files -f; fi
        return
      fi ;;
    esac
  done
  case $previous in
${valued.map(([flag, by]) => `    ${flag}) ${completing(by)}; return ;;`).join("\n")}
  esac
  if [[ $current == -* ]]; then
    case $command in
      '') ${words([...Object.keys(commands.start.options), "--help", "--version"])} ;;
${options.join("\n")}
    esac
    return
  fi
  case $command/$word in
    /) ${words(commandRows.map(([name]) => name))} ;;
${byWord.join("\n")}
  esac
}
complete -F _cofre cofre
`;
}

function zshScript(): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
  const described = (text: string): string => text.replaceAll(/[[\]:\\]/g, String.raw`\$&`);
  const action = (by: Completed): string => {
    if (by === undefined) return " ";
    if (by === "files") return "_files";
    if (by === "folders") return "_files -/";
    return by === "worlds" ? "_cofre_worlds" : `(${by.join(" ")})`;
  };
  const options = (row: CommandRow): string[] =>
    Object.entries(row.options).map(([flag, option]: [string, OptionRow]) =>
      quoted(
        option.form === undefined
          ? `${flag}[${described(option.doc)}]`
          : `${flag}=[${described(option.doc)}]:${described(option.form)}:${action(completedBy(option))}`,
      ),
    );
  const argumentsOf = (row: CommandRow): string[] => {
    if (row.program !== undefined) return ["'*::program: _cofre_program'"];
    const by = wordsOf(row);
    if (by === undefined) return [];
    const isRepeated = row.paths !== undefined && row.paths !== "DIR";
    const inner = Object.keys(row.valuesBehind ?? {}).length > 0;
    return [
      quoted(`${isRepeated ? "*" : "1"}:argument:${action(by)}`),
      ...(inner ? ["'2:argument:_cofre_behind'"] : []),
    ];
  };
  const cases = commandRows.map(([name, row]) =>
    [
      `    ${name})`,
      `      _arguments -s : \\\n        ${[...options(row), "'--help[show the help]'", ...argumentsOf(row)].join(" \\\n        ")} ;;`,
    ].join("\n"),
  );
  const behind = commandRows.flatMap(([, row]) =>
    Object.entries(row.valuesBehind ?? {}).map(
      ([word, values]) => `    ${word}) compadd -- ${values.join(" ")} ;;`,
    ),
  );
  return `#compdef cofre
# Completion of cofre in zsh.
_cofre_worlds() {
  local -a names
  names=("\${(@f)$(${worldNames})}")
  compadd -a names
}

_cofre_behind() {
  case $line[1] in
${behind.join("\n")}
  esac
}

# Another program's command line, as if it were typed alone.
_cofre_program() {
  if [[ $words[1] = -- ]]; then shift words; ((CURRENT -= 1)); fi
  _normal
}

_cofre() {
  local context state line
  typeset -A opt_args
  local -a summaries
  summaries=(
${commandRows.map(([name, { summary }]) => `    ${quoted(`${name}:${summary.replaceAll(":", String.raw`\:`)}`)}`).join("\n")}
  )
  _arguments -C -A '-*' \\
    ${[...options(commands.start), "'--help[show the help]'"].join(" \\\n    ")} \\
    '1: :->command' '*:: :->rest'
  case $state in
    command) _describe -t commands command summaries; return ;;
  esac
  case $words[1] in
${cases.join("\n")}
  esac
}

if [ "$funcstack[1]" = _cofre ]; then _cofre "$@"; else compdef _cofre cofre; fi
`;
}

function fishScript(): string {
  const quoted = (text: string): string =>
    `'${text.replaceAll("\\", String.raw`\\`).replaceAll("'", String.raw`\'`)}'`;
  const values = (by: Completed): string => {
    if (by === undefined) return "-x";
    if (by === "files") return "-r -F";
    if (by === "folders") return "-x -a '(__fish_complete_directories)'";
    return by === "worlds" ? "-x -a '(__cofre_worlds)'" : `-x -a ${quoted(by.join(" "))}`;
  };
  const lines = commandRows.flatMap(([name, row]) => {
    const inCommand = `complete -c cofre -n '__cofre_at ${name}'`;
    const options = Object.entries(row.options).map(([flag, option]: [string, OptionRow]) =>
      [
        inCommand,
        `-l ${flag.slice(2)}`,
        ...(option.form === undefined ? [] : [values(completedBy(option))]),
        `-d ${quoted(option.doc)}`,
      ].join(" "),
    );
    const by = wordsOf(row);
    const first = `complete -c cofre -n '__cofre_at ${name} 1'`;
    const words =
      row.program !== undefined
        ? [`complete -c cofre -n '__cofre_at ${name}' -x -a '(__cofre_program)'`]
        : by === undefined
          ? []
          : [
              `${by === "files" || by === "folders" ? inCommand : first} ${values(by).replace("-r -F", "-F")}`,
            ];
    const behind = Object.entries(row.valuesBehind ?? {}).map(
      ([word, list]) =>
        `complete -c cofre -n '__cofre_at ${name} 2 ${word}' -x -a ${quoted(list.join(" "))}`,
    );
    return [
      `complete -c cofre -n '__cofre_at' -x -a ${name} -d ${quoted(row.summary)}`,
      ...options,
      ...words,
      ...behind,
    ];
  });
  return `# Completion of cofre in fish.
function __cofre_worlds
  ${worldNames}
end

# The words of the command line that are not options, without the values of options.
function __cofre_words
  set -l skips 0
  for token in (commandline -opc)[2..-1]
    if test $skips -eq 1
      set skips 0
    else if contains -- $token ${optionsWithValue()
      .map(([flag]) => flag)
      .join(" ")}
      set skips 1
    else if not string match -q -- '-*' $token
      echo $token
    end
  end
end

# Whether the command is $argv[1] (none: not typed yet), its word number $argv[2] is typed now, and
# the word before is $argv[3].
function __cofre_at
  set -l words (__cofre_words)
  set -l count (count $words)
  if test (count $argv) -eq 0
    test $count -eq 0; and return 0; or return 1
  end
  test $count -gt 0; or return 1
  test "$words[1]" = "$argv[1]"; or return 1
  if test (count $argv) -gt 1
    test $count -eq $argv[2]; or return 1
  end
  if test (count $argv) -gt 2
    test "$words[$argv[2]]" = "$argv[3]"; or return 1
  end
  return 0
end

# The program of \`cofre run\`, as if it were typed alone.
function __cofre_program
  set -l tokens (commandline -opc)
  for index in (seq 3 (count $tokens))
    if test "$tokens[$index]" = --
      complete -C (string join ' ' -- $tokens[(math $index + 1)..-1] (commandline -ct))
      return
    end
  end
  __fish_complete_command
end

complete -c cofre -f
complete -c cofre -s h -l help -d 'show the help'
${lines.join("\n")}
`;
}
