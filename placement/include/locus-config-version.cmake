# SPDX-License-Identifier: Apache-2.0
#
# While the major number is 0, a new minor number may change any interface (version.h). So the minor number must be the one that is
# asked for; later, the major one.
set(PACKAGE_VERSION @VERSION@)
set(PACKAGE_VERSION_COMPATIBLE FALSE)
set(PACKAGE_VERSION_EXACT FALSE)
set(_locus_asked "${PACKAGE_FIND_VERSION_MAJOR}.${PACKAGE_FIND_VERSION_MINOR}")
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
endif()
if(PACKAGE_FIND_VERSION VERSION_LESS_EQUAL PACKAGE_VERSION)
    if(_locus_asked STREQUAL "@SERIES@" OR ("@MAJOR@" GREATER 0 AND PACKAGE_FIND_VERSION_MAJOR EQUAL "@MAJOR@"))
        set(PACKAGE_VERSION_COMPATIBLE TRUE)
    endif()
endif()
