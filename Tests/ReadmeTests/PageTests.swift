// What README.md says of the project, held against the project.

import Foundation
import TestSupport
import Testing

@Suite("README, its statements", .someAtATime)
struct PageTests {
    @Test("every block of code is one that a test runs")
    func blocks() throws {
        // Plain blocks are pictures; the others have their tests in this folder.
        let languages = Set(try Readme.blocks().map(\.language))
        #expect(languages == ["", "sh", "plugboard", "console", "swift", "json", "text"])
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

    @Test("CI runs the two commands as they stand on the page")
    func commands() throws {
        let script = try Readme.text(of: ".ci/run").components(separatedBy: "\n")
        let commands = try Readme.blocks(in: "sh").flatMap(\.lines).filter { $0.hasPrefix("swift ") }
        #expect(commands.count == 2)
        for command in commands {
            #expect(script.contains { $0.hasSuffix(command) || $0.contains("\(command) ") }, "\(command)")
        }
    }

    @Test("the limits are those that plugboard limits prints")
    func limits() async throws {
        let tables = try Readme.blocks(in: "text")
        #expect(tables.count == 1)
        let run = try Running(built: "plugboard", ["limits"], in: try Scratch())
        #expect(try await run.status() == 0)
        #expect(try run.output == tables.first?.text)
    }

    @Test("every file of the tour is there")
    func tour() throws {
        let lines = try Readme.section("Reading the sources")
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
        for page in ["README.md", ".github/CONTRIBUTING.md"] {
            let folder = page.hasPrefix(".github") ? ".github/" : ""
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
