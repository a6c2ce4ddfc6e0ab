// Compares what README.md says about the project with the project.

import Foundation
import PlugboardPosix
import TestSupport
import Testing

@Suite("README, its statements", .someAtATime)
struct PageTests {
    @Test("a test runs every block of code")
    func blocks() throws {
        // Plain blocks are pictures. The others have their tests in this folder.
        let languages = Set(try Readme.blocks().map(\.language))
        #expect(languages == ["", "sh", "plugboard", "console", "swift", "python", "json"])
        let known = [
            ".build/release/plugboard ", "~/.local/bin/plugboard ",
            "swift run -c release plugboard up --demo", "swift test",
        ]
        for block in try Readme.blocks(in: "sh") {
            for line in block.lines {
                #expect(known.contains { line.hasPrefix($0) }, "\(block.place): nothing runs \(line)")
            }
        }
    }

    @Test("CI runs the two commands exactly as the page has them")
    func commands() throws {
        let script = try Readme.text(of: ".ci/run").components(separatedBy: "\n")
        let commands = try Readme.blocks(in: "sh").flatMap(\.lines).filter { $0.hasPrefix("swift ") }
        #expect(commands.count == 2)
        for command in commands {
            #expect(script.contains { $0.hasSuffix(command) || $0.contains("\(command) ") }, "\(command)")
        }
    }

    @Test("a newcomer's page is short")
    func length() throws {
        #expect(try Readme.text().split(separator: "\n", omittingEmptySubsequences: false).count <= 301)
    }

    @Test("plugboard limits prints exactly the limits of the specification")
    func limits() async throws {
        let rows = try Readme.section("9. Limits", of: "protocol/SPEC.md").compactMap {
            $0.firstMatch(of: /^\| `([a-z]+)` \| ([0-9]+) \|/).map { "\($0.1) \($0.2)" }
        }
        let run = try Running(built: "plugboard", ["limits"], in: try TemporaryFolder())
        #expect(try await run.status() == 0)
        let printed = try run.output.split(separator: "\n").map {
            $0.split(separator: " ").joined(separator: " ")
        }
        #expect(printed.count > 20 && printed.sorted() == rows.sorted())
    }

    @Test("every file of the tour exists")
    func tour() throws {
        let lines = try Readme.section("Reading the sources", of: Readme.contributing)
        var folder = ""
        var named = 0
        for name in Readme.inlineCode(of: lines) {
            if Readme.exists(name) {
                folder = String(name[..<(name.lastIndex(of: "/") ?? name.startIndex)])
            } else {
                #expect(Readme.exists("\(folder)/\(name)"), "\(name) is neither at the top nor in \(folder)")
            }
            named += 1
        }
        #expect(named > 25)
    }

    @Test("every link within the project leads somewhere")
    func links() throws {
        var followed = 0
        for page in ["README.md", Readme.questions, Readme.faults, Readme.figures, Readme.contributing] {
            let folder = page.split(separator: "/").dropLast().map { $0 + "/" }.joined()
            let targets = try Readme.text(of: page).matches(of: /\]\(([^)#]+)(#[^)]*)?\)/).map {
                String($0.1)
            }
            for target in targets where !target.contains("://") {
                #expect(Readme.exists(folder + target), "\(page): \(target)")
                followed += 1
            }
        }
        #expect(followed > 3)
    }

    @Test("anchors into the specification are headings there")
    func anchors() throws {
        let headings = try Readme.text(of: "protocol/SPEC.md").components(separatedBy: "\n")
            .filter { $0.hasPrefix("#") }
            .map { heading in
                heading.drop { $0 == "#" || $0 == " " }.lowercased()
                    .filter { $0.isLetter || $0.isNumber || " -_".contains($0) }.replacing(" ", with: "-")
            }
        for match in try Readme.text().matches(of: /SPEC\.md#([^)]+)\)/) {
            #expect(headings.contains(String(match.1)), "#\(match.1)")
        }
    }
}
