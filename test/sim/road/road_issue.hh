// SPDX-License-Identifier: BSD-3-Clause
// Fixed roads on which path control has failed before.
#ifndef SLUICE_TEST_SIM_ROAD_ISSUE_HH
#define SLUICE_TEST_SIM_ROAD_ISSUE_HH

struct RoadIssue {
    const char *name, *line; // as road_parse() reads it
};

// The name of the last entry is nullptr.
extern const RoadIssue kRoadIssues[];

#endif
