import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("Manual pages", .someAtATime)
struct ManTests {
    private static func has(_ program: String) -> Bool {
        FileStatus.isRunnable(path: "/usr/bin/\(program)")
    }

    private static let pages = [ManualPage.overview()] + CommandTable.visible.map(ManualPage.of)

    /// Runs a program on files with all pages.
    private func check(_ program: String, _ arguments: String...) throws -> Finished {
        let folder = try TemporaryFolder()
        let files = try Self.pages.enumerated().map { try folder.write("p\($0.offset).1", $0.element) }
        return try Run(
            program: "/usr/bin/\(program)",
            arguments + files,
            in: folder,
            environment: ["LC_ALL": "C.UTF-8", "MANWIDTH": "80"]
        ).finished()
    }

    @Test("mandoc finds nothing to say about any page", .enabled(if: has("mandoc"), "mandoc isn't here"))
    func mandoc() throws {
        let finished = try check("mandoc", "-Tlint")
        #expect(finished.output.isEmpty && finished.messages.isEmpty && finished.end == .exited(0))
    }

    @Test("groff formats every page without a warning", .enabled(if: has("groff"), "groff isn't here"))
    func groff() throws {
        let finished = try check("groff", "-ww", "-man", "-Kutf8", "-Tutf8")
        #expect(finished.messages.isEmpty && finished.end == .exited(0))
    }

    @Test("man -l shows a page, with all options and examples", .enabled(if: has("man"), "man isn't here"))
    func man() throws {
        let folder = try TemporaryFolder()
        for (words, marks) in [
            (["man"], ["PLUGBOARD_SOCKET", "plugboard-subscribe(1)", "69"]),
            (
                ["man", "up"],
                ["--plugins DIR", "{\"name\": \"cart\", \"run\": \"cart\"}", "plugboard up --demo"]
            ),
        ] {
            let page = try folder.write("page.1", try Run(words, in: folder).finished().output)
            let shown = try Run(
                program: "/usr/bin/man",
                ["--warnings", "-l", page],
                in: folder,
                environment: [
                    "LC_ALL": "C.UTF-8", "MANWIDTH": "100", "MANPAGER": "cat", "MAN_KEEP_FORMATTING": "",
                ]
            ).finished()
            #expect(shown.end == .exited(0) && shown.messages.isEmpty)
            for mark in marks { #expect(shown.output.contains(mark), "\(mark)") }
        }
    }

    @Test("each page names every option, argument and example of its command")
    func complete() {
        for command in CommandTable.visible {
            let page = ManualPage.of(command)
            for option in command.options + [.help] {
                #expect(page.contains("\\fB" + ManualPage.escaped("--" + option.name) + "\\fR"))
            }
            for parameter in command.parameters {
                #expect(page.contains("\\fI" + ManualPage.escaped(parameter.name) + "\\fR"))
            }
            for example in command.examples { #expect(page.contains(ManualPage.escaped(example))) }
        }
    }

    @Test("no text is taken for a request of roff")
    func escapes() {
        #expect(ManualPage.escaped(#"a\b -x 'q'"#) == #"a\eb \-x \(aqq\(aq"#)
        // roff reads bytes: other characters have names.
        for page in Self.pages { #expect(page.utf8.allSatisfy { $0 < 0x80 }, "\(page.prefix(40))") }
        let known = Set(["TH", "SH", "SS", "TP", "B", "I", "BR", "PP", "nf", "fi", "br"])
        for line in Self.pages.joined(separator: "\n").split(separator: "\n") where line.hasPrefix(".") {
            #expect(known.contains(String(line.dropFirst().prefix { $0.isLetter })), "\(line)")
        }
    }

    @Test("a page of an unknown command is a usage error with the near one")
    func unknown() throws {
        let finished = try plugboard("man", "subscrbe", in: TemporaryFolder())
        #expect(finished.end == .exited(64) && finished.output.isEmpty)
        #expect(finished.messages.contains("did you mean \"subscribe\"?"))
        #expect(try plugboard("man", "launch", in: TemporaryFolder()).end == .exited(64))
    }
}
