// Made by .ci/page from plugins/dashboard/page/link.js: change that file, and run .ci/page again.
// swift-format-ignore-file

extension PageText {
    static let linkJS: StaticString = ##"""
// stub
"""##
}
